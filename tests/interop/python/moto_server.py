"""Serves moto on 127.0.0.1 with its signature check on, and prints where and with which keys, as JSON.

moto works each signature out anew with botocore, so it tells whether ours are right independently of our own broker.
usage: moto_server.py PORT
"""
import json
import sys
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

port = int(sys.argv[1])
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
server.start()
url = f"http://127.0.0.1:{port}"

iam = boto3.client("iam", endpoint_url=url, region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any")
iam.create_user(UserName="miller")
everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
iam.put_user_policy(UserName="miller", PolicyName="all", PolicyDocument=json.dumps(everything))
key = iam.create_access_key(UserName="miller")["AccessKey"]
urllib.request.urlopen(urllib.request.Request(f"{url}/moto-api/reset-auth", b"0", {"Content-Type": "text/plain"}))
print(json.dumps({"url": url, "key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
sys.stdin.read()  # until whoever started this ends

#!/usr/bin/env python3
"""`quern consume`: what is acknowledged, what comes again, and how it ends."""

import hashlib
import http.server
import json
import os
import signal
import subprocess
import threading
import time
import unittest

from program import LIMIT, Broker, ProgramTest, wait_for


class Printing(ProgramTest):
    def setUp(self):
        super().setUp()
        self.url = self.create("orders")

    def test_every_message_becomes_a_line_and_is_gone(self):
        bodies = [f"message {i}" for i in range(2_500)]
        self.send("orders", *bodies)
        got = self.consume("orders")
        self.assertEqual(sorted(m["body"] for m in got), sorted(bodies))
        self.assertEqual({m["receive_count"] for m in got}, {1})
        self.assertEqual(len({m["message_id"] for m in got}), len(bodies))
        for member in ("sent_at", "first_received_at"):
            self.assertRegex(got[0][member], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertEqual(got[0]["attributes"], {})
        self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_limits_hold_nothing_up(self):
        self.send("orders", *(f"{i} " + "x" * 200_000 for i in range(30)))
        got = self.consume("orders", "--max-bytes-in-flight", "1MiB", "--rate", "1000", "--burst", "1")
        self.assertEqual(sorted(int(m["body"].split()[0]) for m in got), list(range(30)))

    def test_the_url_of_a_queue_says_where_to_go(self):
        self.send("orders", "a")
        del self.variables["AWS_ENDPOINT_URL_SQS"]
        self.assertEqual([m["body"] for m in self.consume(self.url)], ["a"])

    def test_an_arn_of_a_queue_does_as_well_and_says_the_region(self):
        arn = "arn:aws:sqs:us-east-1:000000000000:"
        self.create("poison")
        self.quern("send", arn + "orders", stdin="a\nb\n")
        self.assertEqual(sorted(m["body"] for m in self.consume(arn + "orders", "--poison-queue", arn + "poison")), ["a", "b"])
        self.refuse("consume", arn + "orders", "--region", "eu-west-1", status=2, mentions=["us-east-1", "eu-west-1"])
        self.refuse("consume", arn + "nothing", status=1, mentions=["nothing"])
        self.refuse("consume", "arn:aws:sns:us-east-1:000000000000:orders", status=2, mentions=["ARN"])

    def test_what_cannot_be_written_is_not_acknowledged(self):
        self.send("orders", *(f"m{i}" for i in range(30)))
        read, write = os.pipe()
        os.close(read)
        with open("/dev/full", "w", encoding="utf-8") as full, open(write, "w", encoding="utf-8") as broken:
            for stdout in (full, broken):
                with self.subTest(stdout=stdout.name):
                    _, err = self.quern("consume", "orders", "--wait-time", "1", stdout=stdout,
                                        stderr=subprocess.PIPE, status=1)
                    self.assertIn("standard output", err)
                    self.assertEqual(self.counts("orders"), (30, 0, 0))

    def test_a_reader_that_stalls_holds_the_messages_up_and_loses_none(self):
        self.send("orders", *(f"{i} " + "x" * 20_000 for i in range(60)))
        consuming = self.start("consume", "orders", "--until-empty", "--wait-time", "1", stderr=subprocess.DEVNULL)
        first = json.loads(consuming.stdout.readline())
        in_flight = self.counts("orders")[1]
        self.assertGreater(in_flight, 40)  # a pipe holds three such lines
        rest = consuming.stdout.read()  # communicate() would pass over what readline() has buffered
        consuming.wait(timeout=LIMIT)
        numbers = [first["body"].split()[0]] + [json.loads(line)["body"].split()[0] for line in rest.splitlines()]
        self.assertEqual(sorted(map(int, numbers)), list(range(60)))
        self.assertEqual(consuming.returncode, 0)

    def test_a_queue_that_does_not_exist_is_an_error_and_no_wait(self):
        self.refuse("consume", "absent", status=1, mentions=["NonExistentQueue"])
        self.refuse("consume", self.broker.url + "/000000000000/absent", status=1, mentions=["NonExistentQueue"])

    # It was believed, and every hand-off failed later with an error that named no queue.
    def test_a_poison_queue_that_does_not_exist_is_an_error_by_name_or_url(self):
        for poison in ("absent", self.broker.url + "/000000000000/absent"):
            self.refuse("consume", "orders", "--poison-queue", poison, status=1,
                        mentions=["--poison-queue " + poison, "NonExistentQueue"])

    def test_the_messages_of_a_fifo_group_are_handled_in_order_though_they_fail(self):
        self.create("ledger", "--fifo")
        self.quern("send", "ledger.fifo", "--group", "a", stdin="".join(f"{n}\n" for n in range(6)))
        seen = self.folder + "/seen"
        # every first try of an even number fails
        command = f'read n; echo $n >> {seen}; test $QUERN_RECEIVE_COUNT -gt 1 || test $((n % 2)) -eq 1'
        self.quern("consume", "ledger.fifo", "--until-empty", "--exec", command)
        with open(seen, encoding="utf-8") as lines:
            tries = [int(line) for line in lines]
        self.assertEqual(sorted(set(tries)), list(range(6)))
        self.assertEqual(tries, sorted(tries))

    def test_what_fails_for_too_long_is_rejected_to_the_poison_queue(self):
        self.create("orders")
        self.create("poison")
        self.quern("send", "orders", stdin="bad\n")
        self.quern("consume", "orders", "--until-empty", "--exec", "false", "--max-age", "2", "--poison-queue", "poison")
        poison = [json.loads(line) for line in self.quern("consume", "poison", "--until-empty")[0].splitlines()]
        self.assertEqual([m["body"] for m in poison], ["bad"])
        self.assertIn("max_age", poison[0]["attributes"]["QuernReason"]["value"])
        self.refuse("consume", "orders", "--on-group-failure", "skip", status=2, mentions=["--poison-queue"])
        self.refuse("consume", "orders", "--park-for", "9", status=2, mentions=["--on-group-failure park"])

    def test_what_fails_too_often_is_rejected_to_the_poison_queue(self):
        self.create("orders")
        self.create("poison")
        self.quern("send", "orders", stdin="bad\n")
        self.quern("consume", "orders", "--until-empty", "--exec", "false", "--max-tries", "2", "--poison-queue", "poison")
        poison = [json.loads(line) for line in self.quern("consume", "poison", "--until-empty")[0].splitlines()]
        self.assertEqual([m["body"] for m in poison], ["bad"])
        attributes = {name: one["value"] for name, one in poison[0]["attributes"].items()}
        self.assertEqual(attributes["QuernReceiveCount"], "2")
        self.assertIn("max_tries is 2", attributes["QuernReason"])
        self.refuse("consume", "orders", "--max-tries", "0", status=2, mentions=["--max-tries"])

    def test_without_a_poison_queue_the_log_says_that_a_rejected_message_is_deleted(self):
        self.create("orders")
        self.send("orders", "bad")
        _, err = self.quern("consume", "orders", "--until-empty", "--exec", "false", "--max-age", "1", status=4)
        self.assertRegex(err, "error: message rejected: .*: older than max_age; at last: .*; deleted, there is no queue for it")

    def test_the_end_says_what_was_rejected_and_whether_it_is_gone(self):
        self.create("poison")
        self.send("orders", "good", "bad", "worse")
        reject = ("consume", "orders", "--until-empty", "--exec", 'test "$(cat)" = good', "--max-age", "1")
        _, err = self.quern(*reject, status=4)
        self.assertRegex(err, r"acknowledged 1, rejected 2 \(2 deleted: there is no queue for them\)")
        self.assertIn("quern: 2 rejected and deleted unhandled", err)
        self.send("orders", "bad")
        _, err = self.quern(*reject, "--poison-queue", "poison")
        self.assertRegex(err, "acknowledged 0, rejected 1, with")

    def test_a_tenant_has_a_breaker_of_its_own(self):
        self.create("orders")
        self.send("orders", *(f'{{"customer": {{"id": "{"acme" if n % 2 else "initech"}"}}, "n": {n}}}' for n in range(80)))
        process = self.start("consume", "orders", "--wait-time", "1", "--tenant", "body:/customer/id", "--max-in-flight", "4",
                             "--exec", "sleep 0.1; grep -qv acme", stdout=subprocess.DEVNULL)
        line = wait_for(process.stderr, "half open")
        self.assertIn("breaker: acme: half open", line)
        process.terminate()
        process.communicate(timeout=LIMIT)

    def test_a_parked_group_waits_for_its_head_and_others_do_not(self):
        self.create("ledger", "--fifo")
        for group in "ab":
            self.quern("send", "ledger.fifo", "--group", group, stdin=f"{group}1\n{group}2\n")
        seen = self.folder + "/seen"
        command = f'read n; echo $n >> {seen}; test $n != a1 || test $QUERN_RECEIVE_COUNT -gt 1'
        began = time.monotonic()
        self.quern("consume", "ledger.fifo", "--until-empty", "--exec", command, "--max-in-flight", "8",
                   "--on-group-failure", "park", "--park-for", "5")
        self.assertGreaterEqual(time.monotonic() - began, 5)
        with open(seen, encoding="utf-8") as lines:
            tries = lines.read().split()
        self.assertEqual([n for n in tries if n[0] == "a"], ["a1", "a1", "a2"])
        self.assertLess(tries.index("b2"), len(tries) - 2)


class Draining(ProgramTest):
    def setUp(self):
        super().setUp()
        self.create("orders")
        self.report_path = self.folder + "/report.json"

    def consuming(self, *options):
        process = self.start("consume", "orders", "--wait-time", "1", "--report", self.report_path, *options)
        wait_for(process.stderr, "consuming")
        return process

    def report(self):
        with open(self.report_path, encoding="utf-8") as file:
            return json.load(file)

    def test_either_signal_drains_an_idle_consumer_which_reports_nothing_left(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.consuming()
            process.send_signal(number)
            self.assertEqual(process.wait(LIMIT), 0)
            report = self.report()
            self.assertLess(report.pop("took_ms"), 5_000)
            self.assertEqual(set(report.values()), {0})
            os.remove(self.report_path)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_running_command_may_finish(self):
        fifo = self.folder + "/go"
        os.mkfifo(fifo)
        process = self.consuming("--exec", f"echo started; read line < {fifo}; echo finished")
        self.send("orders", "a")
        wait_for(process.stdout, "started")
        process.terminate()
        wait_for(process.stderr, "draining")
        with open(fifo, "w", encoding="utf-8") as go:
            go.write("go\n")
        wait_for(process.stdout, "finished")
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertEqual(self.report()["finished"], 1)
        self.assertEqual(self.counts("orders"), (0, 0, 0))

    def end_by_second_signal(self, command):
        process = self.consuming("--drain-deadline", "20", "--exec", command)
        self.send("orders", "a")
        wait_for(process.stdout, "started")
        process.terminate()
        wait_for(process.stderr, "draining")
        process.terminate()
        self.assertEqual(process.stdout.read(), "")  # ends when nothing that the command has started is left
        self.assertEqual(process.wait(LIMIT), 0, process.stderr.read())
        report = self.report()
        self.assertLess(report["took_ms"], 10_000)
        self.assertEqual((report["cancelled"], report["released"]), (1, 1))
        self.assertEqual(self.counts("orders"), (1, 0, 0))

    def test_a_second_signal_ends_the_commands_and_their_messages_are_given_back(self):
        self.end_by_second_signal("echo started; tail -f /dev/null; :")

    def test_a_command_that_will_not_end_is_killed(self):
        self.end_by_second_signal("trap '' TERM; echo started; tail -f /dev/null; :")

    # The shell ended at SIGTERM, and what it had started and did not heed it ran on.
    def test_what_a_command_has_started_and_left_behind_is_killed(self):
        self.end_by_second_signal("(trap '' TERM; tail -f /dev/null) & echo started; wait")

    def test_what_could_not_be_given_back_is_told(self):
        process = self.consuming("--drain-deadline", "1", "--exec", "echo started; tail -f /dev/null; :")
        self.send("orders", "a")
        wait_for(process.stdout, "started")
        self.broker.process.kill()
        self.broker.process.wait(LIMIT)
        process.terminate()
        _, err = process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 3, err)
        self.assertEqual(self.report()["stranded"], 1)
        self.assertIn("quern: the drain left", err)

    def end_at_once(self, process):
        process.terminate()
        wait_for(process.stderr, "draining")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_commands_at_once_may_find_their_number(self):
        process = self.consuming("--handler-concurrency", "auto", "--exec", "echo started; tail -f /dev/null; :")
        self.send("orders", "a")
        wait_for(process.stdout, "started")
        process.send_signal(signal.SIGUSR1)
        wait_for(process.stderr, "at once")
        self.end_at_once(process)
        self.refuse("consume", "orders", "--handler-concurrency", "many", status=2,
                    mentions=["wants a number from 1 to 120000, or auto"])

    def test_whoever_asks_is_told_what_it_does(self):
        process = self.consuming("--max-in-flight", "1", "--exec", "echo started; tail -f /dev/null; :")
        self.send("orders", "a", "b")
        wait_for(process.stdout, "started")
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            wait_for(process.stderr, "quern: 0 receives open, 1 message in flight; max_in_flight is reached")
        self.end_at_once(process)

    def test_a_standstill_is_explained_without_being_asked(self):
        process = self.consuming("--stall-after", "3")
        self.broker.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.broker.process.send_signal, signal.SIGCONT)
        wait_for(process.stderr, "stalled: nothing received and nothing settled")
        self.broker.process.send_signal(signal.SIGCONT)
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_settings_are_read_again_at_a_signal_and_a_bad_file_changes_nothing(self):
        path = self.folder + "/limits.toml"

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

        write("handler_concurrency = 1\n")
        process = self.consuming("--settings", path, "--max-in-flight", "10", "--exec",
                                 "echo started; tail -f /dev/null; :")
        self.send("orders", *"abcd")
        wait_for(process.stdout, "started")
        process.send_signal(signal.SIGUSR1)
        wait_for(process.stderr, "limits were turned: handler_concurrency 1")
        for bad in ("handler_concurrency = -1\n", "handlers = 2\n", "handler_concurrency = = 2\n"):
            write(bad)
            process.send_signal(signal.SIGHUP)
            wait_for(process.stderr, f"error: the settings stay as they are: --settings {path}:1:")
        write("handler_concurrency = 3\nmax_polls = 100\n")
        process.send_signal(signal.SIGHUP)
        wait_for(process.stderr, f"the settings of {path} are in force")
        for _ in range(2):
            wait_for(process.stdout, "started")
        write("max_polls = 2\n")  # and the other is as the command line says
        process.send_signal(signal.SIGHUP)
        wait_for(process.stdout, "started")
        self.end_at_once(process)
        os.remove(path)
        self.refuse("consume", "orders", "--settings", path, status=2, mentions=["--settings", "cannot be read"])

    def test_one_who_asks_while_it_is_idle_is_told_that_nothing_is_in_the_way(self):
        process = self.consuming()
        process.send_signal(signal.SIGUSR1)
        wait_for(process.stderr, "0 messages in flight; nothing is in the way")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    # It was found out in the end, when a night's messages had been consumed.
    def test_a_report_that_cannot_be_written_is_an_error_before_anything_is_received(self):
        self.send("orders", "a")
        self.refuse("consume", "orders", "--until-empty", "--report", "/proc/no/such", status=1,
                    mentions=["--report /proc/no/such", "the folder /proc/no takes no file", "No such file"])
        self.assertEqual(self.counts("orders"), (1, 0, 0))
        self.consume("orders")

    # A name that others could foresee was opened through whatever link they had put there.
    def test_the_draft_of_a_report_has_a_name_that_nobody_can_foresee(self):
        process = self.consuming()
        draft, = os.listdir(self.folder)
        self.assertRegex(draft, r"^report\.json\.\w{6}$")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertEqual(os.listdir(self.folder), ["report.json"])
        self.assertEqual(os.stat(self.report_path).st_mode & 0o777, 0o666 & ~self.umask())

    def test_a_report_is_written_through_no_link(self):
        precious = self.folder + "/precious"
        with open(precious, "w", encoding="utf-8") as file:
            file.write("mine")
        for name in (self.report_path, self.report_path + ".tmp", self.report_path + ".draft"):
            os.symlink(precious, name)
        process = self.consuming()
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)
        with open(precious, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        self.assertFalse(os.path.islink(self.report_path))
        self.assertEqual(self.report()["stranded"], 0)

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_a_report_over_a_folder_is_an_error(self):
        self.quern("consume", "orders", "--until-empty", "--wait-time", "0", "--report", self.folder, status=1)
        self.assertEqual([name for name in os.listdir(os.path.dirname(self.folder))
                          if name.startswith(os.path.basename(self.folder) + ".")], [])


class Executing(ProgramTest):
    def setUp(self):
        super().setUp()
        self.url = self.create("orders")

    def run_for_each(self, command, *options):
        return self.quern("consume", "orders", "--until-empty", "--wait-time", "1", "--exec", command, *options)

    def test_the_command_gets_the_body_and_what_there_is_to_know(self):
        self.quern("send", "orders", "--group", "g1", stdin="the body\n")
        out, _ = self.run_for_each("cat; echo; env | grep ^QUERN_")
        body, *variables = out.splitlines()
        self.assertEqual(body, "the body")
        told = dict(line.split("=", 1) for line in variables)
        self.assertRegex(told.pop("QUERN_MESSAGE_ID"), r"^[0-9a-f-]{36}$")
        for name in ("QUERN_SENT_AT", "QUERN_FIRST_RECEIVED_AT"):
            self.assertRegex(told.pop(name), r"^\d{4}-.*Z$")
        self.assertEqual(told, {"QUERN_RECEIVE_COUNT": "1", "QUERN_QUEUE_URL": self.url, "QUERN_ATTRIBUTES": "{}",
                                "QUERN_ATTRIBUTES_FILE": "", "QUERN_GROUP": "g1"})

    def test_every_variable_is_set_whatever_the_caller_has(self):
        self.variables["QUERN_GROUP"] = "the caller's"
        self.send("orders", "a")
        out, _ = self.run_for_each('echo "${QUERN_GROUP-unset}."')
        self.assertEqual(out, ".\n")

    # It failed like any command, and the messages went round until the redrive policy took them.
    def test_a_command_that_does_not_exist_ends_the_program_at_once(self):
        folder = self.folder
        with open(folder + "/plain", "w", encoding="utf-8"):
            pass
        self.send("orders", "a")
        for command, why in ((f"{folder}/absent --fast", "check its path"), (folder, "is a folder"),
                             (f"{folder}/plain", "chmod +x"), ("no-such-command | cat", "check PATH")):
            with self.subTest(command=command):
                self.refuse("consume", "orders", "--exec", command, status=2, mentions=["--exec: ", why])
        self.assertEqual(self.counts("orders"), (1, 0, 0))
        self.run_for_each("if true; then :; fi")
        self.send("orders", "b")
        self.run_for_each("A=1 no-such-command || :")

    def test_a_large_body_reaches_a_command_that_reads_it_and_one_that_does_not(self):
        self.send("orders", "x" * 1_000_000)
        self.assertEqual(self.run_for_each("wc -c")[0].strip(), "1000000")
        self.send("orders", "x" * 1_000_000)
        self.run_for_each("true")
        self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_a_command_that_fails_sees_its_message_again(self):
        self.send("orders", "a", "b", "c")
        out, err = self.run_for_each('echo "$(cat) $QUERN_RECEIVE_COUNT"; [ $QUERN_RECEIVE_COUNT -gt 1 ] || exit 7')
        self.assertEqual(sorted(out.split("\n")[:-1]), sorted(f"{m} {n}" for m in "abc" for n in (1, 2)))
        self.assertIn("the command ended with status 7", err)
        self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_a_command_killed_by_a_signal_has_failed(self):
        self.send("orders", "a")
        _, err = self.run_for_each("[ $QUERN_RECEIVE_COUNT -gt 1 ] || kill -SEGV $$")
        self.assertIn("signal 11", err)

    def test_no_more_commands_run_at_once_than_may(self):
        self.send("orders", *(str(i) for i in range(12)))
        out, _ = self.run_for_each("echo +; : $(cat); echo -", "--max-in-flight", "1")
        self.assertEqual(out, "+\n-\n" * 12)

    def test_the_command_inherits_no_connection_and_a_default_sigpipe(self):
        self.send("orders", "a")
        out, _ = self.run_for_each("ls -l /proc/self/fd | grep -c socket; grep SigIgn /proc/self/status")
        sockets, ignored = out.splitlines()
        self.assertEqual(sockets, "0")
        self.assertEqual(int(ignored.split()[1], 16) & (1 << (signal.SIGPIPE - 1)), 0)


class OfAHostileService(ProgramTest):
    broker_options = None

    # The variable ended at the NUL, and could pass for that of another message.
    def test_an_id_is_not_cut_at_a_nul(self):
        body = "body"
        message = {"MessageId": "one\0two", "ReceiptHandle": "r", "Body": body,
                   "MD5OfBody": hashlib.md5(body.encode()).hexdigest(), "Attributes": {"ApproximateReceiveCount": "1"}}
        waiting = [message]

        class Service(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                operation = self.headers["X-Amz-Target"].split(".")[1]
                said = {}
                if operation == "GetQueueAttributes":
                    said["Attributes"] = {name: "0" for name in asked["AttributeNames"]}
                if operation == "ReceiveMessage" and waiting:
                    said["Messages"] = [waiting.pop()]
                if operation.endswith("Batch"):
                    said = {"Successful": [{"Id": entry["Id"]} for entry in asked["Entries"]], "Failed": []}
                text = json.dumps(said).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/x-amz-json-1.0")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/000000000000/orders"
            out, err = self.quern("consume", url, "--until-empty", "--wait-time", "0", "--exec",
                                  "echo $QUERN_MESSAGE_ID")
            server.shutdown()
        self.assertEqual(out, "onetwo\n", err)


class AmongFaults(ProgramTest):
    def test_every_message_comes_out_of_a_service_on_a_bad_day(self):
        rates = {"server_error": 0.05, "throttled": 0.02, "dropped_before": 0.03, "truncated": 0.02, "entry_failed": 0.1,
                 "latency": 0.2, "latency_max": 20}
        path = self.folder + "/faults.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"seed": 11, "by_operation": {"ReceiveMessage": rates, "DeleteMessageBatch": rates,
                                                    "ChangeMessageVisibilityBatch": rates}}, file)
        with Broker("--faults", path) as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.create("orders")
            self.send("orders", *(str(i) for i in range(400)))
            # A receive whose answer was cut off leaves its messages hidden for this long.
            got = self.consume("orders", "--visibility-timeout", "3")
            self.assertEqual({int(m["body"]) for m in got}, set(range(400)))
            self.assertEqual(self.counts("orders"), (0, 0, 0))

    # It went on for ever, and only its log knew why.
    def test_what_is_refused_from_the_beginning_ends_at_once_with_the_remedy(self):
        path = self.folder + "/faults.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"by_operation": {"ReceiveMessage": {"access_denied": 1}}}, file)
        with Broker("--faults", path) as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.create("orders")
            self.send("orders", "a")
            report = self.folder + "/report.json"
            _, err = self.quern("consume", "orders", "--report", report, status=1)
            self.assertEqual(err.count("gave up"), 1)
            last = err.splitlines()[-1]
            self.assertTrue(last.startswith("quern: orders: "), err)
            self.assertIn("AccessDenied", last)
            self.assertIn("the policy of this key or of the queue does not allow it", last)
            with open(report, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["stranded"], 0)

    def test_a_queue_that_goes_later_is_waited_for(self):
        self.create("orders")
        self.send("orders", "a")
        process = self.start("consume", "orders", "--wait-time", "1")
        process.stdout.readline()
        self.quern("queue", "delete", "orders")
        wait_for(process.stderr, "receive failed")
        wait_for(process.stderr, "receive failed")
        process.terminate()
        process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, 0)

    def end_without_answers(self, faults, *options, status):
        """Ends a consumer when it has printed a message, on a broker where deletes go wrong like this."""
        path = self.folder + "/faults.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"seed": 71, "by_operation": {"DeleteMessageBatch": faults}}, file)
        with Broker("--faults", path) as broker:
            self.variables["AWS_ENDPOINT_URL_SQS"] = broker.url
            self.create("orders")
            self.send("orders", "a")
            process = self.start("consume", "orders", *options)
            process.stdout.readline()
            process.terminate()
            _, err = process.communicate(timeout=LIMIT)
            self.assertEqual(process.returncode, status, err)
            self.assertEqual(self.counts("orders"), (0, 0, 0))

    def test_an_answer_that_never_comes_does_not_outlast_the_drain(self):
        # With that seed it is the first delete of eight.
        self.end_without_answers({"half_open": 0.3}, "--visibility-timeout", "3", "--drain-deadline", "8", status=0)

    def test_a_call_that_outlasts_the_drain_is_cut(self):
        self.end_without_answers({"half_open": 1}, "--visibility-timeout", "60", "--drain-deadline", "1", status=3)


class Several(ProgramTest):
    def setUp(self):
        super().setUp()
        self.urls = [self.create(name) for name in ("orders", "mails", "bills")]

    def test_each_line_and_each_count_names_its_queue(self):
        self.send("orders", *(f"o{i}" for i in range(30)))
        self.send("mails", "m")
        path = self.folder + "/report.json"
        out, err = self.quern("consume", "orders", "mails", "bills", "--until-empty", "--wait-time", "1",
                              "--max-in-flight", "7", "--report", path)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(lines), 31)
        self.assertEqual({line["queue_url"] for line in lines if line["body"].startswith("o")}, {self.urls[0]})
        self.assertIn(f"{self.urls[1]}: received 1, acknowledged 1", err)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["stranded"], 0)
        told = {one["queue_url"]: (one["received"], one["acknowledged"]) for one in report["queues"]}
        self.assertEqual(told, dict(zip(self.urls, ((30, 30), (1, 1), (0, 0)))))

    def test_one_drain_ends_them_all(self):
        process = self.start("consume", "orders", "mails", "--wait-time", "1", "--exec", "echo $QUERN_QUEUE_URL")
        for _ in range(2):
            wait_for(process.stderr, "consuming")
        self.send("orders", "a")
        wait_for(process.stdout, self.urls[0])
        self.send("mails", "b")
        wait_for(process.stdout, self.urls[1])
        process.send_signal(signal.SIGUSR1)
        told = {wait_for(process.stderr, "in flight").split(": ")[1] for _ in range(2)}
        self.assertEqual(told, set(self.urls[:2]))
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_what_cannot_work_is_refused(self):
        self.refuse("consume", "orders", "orders", status=2, mentions=["the queue orders is named twice"])
        self.refuse("consume", "orders", self.urls[0], status=2, mentions=["is named twice"])
        self.refuse("consume", "orders", "absent", status=1, mentions=["absent", "NonExistentQueue"])
        self.refuse("consume", "orders", "mails", "--poison-queue", "mails", status=2, mentions=["is the queue itself"])
        self.refuse("consume", "orders", "mails", "--max-in-flight", "1", status=2,
                    mentions=["--max-in-flight must be at least 2, one for each queue"])


class Flagged(ProgramTest):
    def setUp(self):
        super().setUp()
        self.url = self.create("orders")
        self.path = self.folder + "/halt"

    def say(self, text):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path + ".new", self.path)

    def test_a_raised_flag_halts_and_a_lowered_one_lets_it_go_on(self):
        self.say('{"shop": {"enabled": true}}')
        self.send("orders", "a")
        process = self.start("consume", "orders", "--wait-time", "1", "--flag", "file:" + self.path,
                             "--flag-name", "shop", "--flag-interval", "1")
        wait_for(process.stderr, "says halt")
        process.send_signal(signal.SIGUSR1)
        self.assertIn("flag file:" + self.path, wait_for(process.stderr, "0 receives open"))
        self.assertEqual(self.counts("orders"), (1, 0, 0))
        self.say('{"shop": {"enabled": false}}')
        self.assertEqual(json.loads(process.stdout.readline())["body"], "a")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_a_flag_that_is_absent_lets_it_run_unless_it_is_to_halt(self):
        self.send("orders", "a", "b")
        out, err = self.quern("consume", "orders", "--until-empty", "--flag", "file:" + self.path,
                              "--flag-interval", "1")
        self.assertEqual(len(out.splitlines()), 2)
        self.assertIn("never read, which lets it run", err)
        process = self.start("consume", "orders", "--flag", "file:" + self.path, "--on-unknown-flag", "halt",
                             "--flag-interval", "1")
        wait_for(process.stderr, "never read, which halts")
        process.terminate()
        self.assertEqual(process.wait(LIMIT), 0)

    def test_what_is_no_flag_is_refused(self):
        for what in ("halt", "file:", "ftp:/x"):
            self.refuse("consume", "orders", "--flag", what, status=2, mentions=["--flag", "file:PATH"])
        self.refuse("consume", "orders", "--flag-name", "x", status=2, mentions=["--flag"])


if __name__ == "__main__":
    unittest.main()

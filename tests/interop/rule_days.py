"""Made-up numbers for the rules of `quern alarms`, in the form of `promtool test rules`: when each fires, and when it keeps quiet."""

# (alert, what happens, {metric with its labels: values, one a minute}, minutes at which it is quiet, and at which it fires)
DAYS = (
    ("QuernDeadLetters", "a dead letter after five minutes", {'quern_dead_letter_messages{state="visible"}': "0+0x5 2+0x30"}, (4,), (6, 30)),
    ("QuernDeadLetters", "somebody looks at one", {'quern_dead_letter_messages{state="not_visible"}': "1+0x30"}, (4, 30), ()),
    ("QuernRejected", "a rejection", {'quern_messages_settled_total{outcome="rejected"}': "5+0x20 6+0x60"}, (15, 40), (23,)),
    ("QuernRejected", "failures, none rejected", {'quern_messages_settled_total{outcome="retried"}': "5+3x60"}, (15, 40), ()),
    ("QuernSpilled", "an outage sends one to the dead letters", {"quern_messages_spilled_total{}": "0+0x20 1+0x60"}, (15, 40), (23,)),
    ("QuernStuck", "messages wait, and nothing moves after half an hour",
     {'quern_queue_messages{state="visible"}': "3+0x90", "quern_last_progress_timestamp_seconds{}": "0+60x30 1800+0x60"}, (20, 40, 45), (48,)),
    ("QuernStuck", "nothing waits, and nothing moves",
     {'quern_queue_messages{state="visible"}': "0+0x90", "quern_last_progress_timestamp_seconds{}": "0+60x30 1800+0x60"}, (20, 48, 80), ()),
    ("QuernBreakerOpen", "an outage of an hour, probed now and then", {'quern_breaker_state{state="open"}': "0+0x5 1+0x6 0 1+0x6 0 1+0x40"}, (15,), (25,)),
    ("QuernBreakerOpen", "one of five minutes", {'quern_breaker_state{state="open"}': "0+0x5 1+0x5 0+0x60"}, (8, 15, 25), ()),
    ("QuernReceivesFail", "all receives fail", {'quern_obstacle{what="receives_fail"}': "0+0x5 1+0x60"}, (8,), (13,)),
    ("QuernReceivesFail", "those of one of two consumers do",
     {'quern_obstacle{what="receives_fail",instance="a"}': "0+0x5 1+0x60", 'quern_obstacle{what="receives_fail",instance="b"}': "0+0x70"}, (8, 30), ()),
    ("QuernLeasesLost", "a lease is lost", {"quern_leases_lost_total{}": "0+0x20 1+0x60"}, (15, 40), (23,)),
    ("QuernDamaged", "a message arrives damaged", {"quern_messages_damaged_total{}": "0+0x20 1+0x60"}, (15, 40), (23,)),
    ("QuernRedriveFails", "a redrive of which a third fails",
     {'quern_redrive_failures_total{queue="orders-dead"}': "0+5x40", 'quern_redrive_messages_total{queue="orders-dead",result="redriven"}': "0+10x40"},
     (0, 60), (10, 30)),
    ("QuernRedriveFails", "one of which a twentieth fails",
     {'quern_redrive_failures_total{queue="orders-dead"}': "0+1x40", 'quern_redrive_messages_total{queue="orders-dead",result="redriven"}': "0+19x40"},
     (10, 30), ()),
    ("QuernRedriveFails", "none runs", {'quern_redrive_failures_total{queue="orders-dead"}': "3+0x40"}, (10, 30), ()),
)
TICKETS = ("QuernRejected", "QuernLeasesLost", "QuernDamaged", "QuernRedriveFails")


def with_labels(series):
    more = 'job="shop",' if "queue=" in series else 'job="shop",queue="orders",'
    return series.replace("{", "{" + more).replace(",}", "}")


def days(rules, summaries):
    """The file for promtool. `rules`: the file with those of the queue orders; `summaries`: {alert: its summary}."""
    if silent := set(summaries) - {alert for alert, *_, firing in DAYS if firing}:
        raise ValueError(f"no day on which {sorted(silent)} fires")
    severity = {alert: "ticket" if alert in TICKETS else "page" for alert in summaries}
    tests = []
    for alert, what, series, quiet, firing in DAYS:
        told = [{"exp_labels": {"job": "shop", "queue": "orders", "severity": severity[alert]},
                 "exp_annotations": {"summary": summaries[alert]}}]
        expected = sorted([(minute, []) for minute in quiet] + [(minute, told) for minute in firing], key=lambda one: one[0])
        tests.append({"name": what, "interval": "1m",
                      "input_series": [{"series": with_labels(name), "values": values} for name, values in series.items()],
                      "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": alert, "exp_alerts": alerts} for minute, alerts in expected]})
    return {"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}

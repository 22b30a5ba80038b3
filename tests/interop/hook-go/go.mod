module quern.example/hook

go 1.22

CREATE TABLE stored.workloads AS FROM incoming;

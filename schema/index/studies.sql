CREATE TABLE stored.studies AS FROM incoming;

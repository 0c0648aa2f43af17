SELECT release, title, licence, workloads, studies, trials, measurements
FROM releases;

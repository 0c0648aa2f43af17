"""Job files: the slices of a sweep as a Slurm job array, a Kubernetes Job or a SkyPilot task.

Each task of a job runs `dbtool produce` with the words of the sweep and a slice of its own. Slices
know what is done, so that any of them may be stopped, run again, or run twice.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbtool.core.errors import counted
from dbtool.core.manifest import SWEEP_WORK
from producers.configuration import SweepOptions
from producers.plan import StudyPlan
from producers.sweep.run import all_blocks

# The largest array that Slurm takes unless it is configured otherwise ends at this number.
_MOST_SLICES = 1_000
# Seconds in which a task saves its checkpoint before it is killed.
_GRACE = 120


@dataclass(frozen=True)
class Job:
    """The slices of a sweep, each with so many CPU cores and GPUs.

    The words are those of `dbtool produce` that say what to train and how.
    """

    words: tuple[str, ...]
    out: Path
    slices: int
    cpus: int
    gpus: int

    @property
    def counted(self) -> str:
        """Return the number of slices, in words."""
        return counted(self.slices, "slice")

    @property
    def name(self) -> str:
        """Return the job's name: lower-case letters, digits and dashes, as Kubernetes asks."""
        letters = re.sub(r"[^a-z0-9]+", "-", self.out.name.lower()).strip("-")
        return f"dbtool-{letters or 'sweep'}"[:50].rstrip("-")

    @property
    def wheel(self) -> str:
        """Return what pip installs on its machines: by its name, it would take another project."""
        return f"./FILE.whl[{'gpu' if self.gpus else 'train'}]"

    def command(self, number: str, out: str | None = None) -> str:
        """Return the shell command that trains a slice.

        The shell finds the slice's number, from 1, and the release folder, by default the job's, in
        words.
        """
        words = shlex.join(["dbtool", "produce", *self.words])
        out = shlex.quote(str(self.out)) if out is None else out
        return f'{words} --out {out} --slice "{number}/{self.slices}"'


def job_of(
    studies: Sequence[StudyPlan], words: Sequence[str], out: Path, options: SweepOptions
) -> Job:
    """Return the job that trains studies, one slice per block of trials, at most 1,000 slices.

    The words are those of `dbtool produce` that say what to train and how, without --out and
    --slice.
    """
    blocks = sum(map(len, all_blocks(studies, options)))
    slices = min(blocks, _MOST_SLICES)
    return Job(tuple(words), out, slices, options.cpus_per_task, options.gpus_per_task)


def slurm(job: Job) -> str:
    """Return the script of a job array, for `sbatch`."""
    gpus = f"#SBATCH --gpus-per-task={job.gpus}\n" if job.gpus else ""
    return f"""\
#!/bin/bash
# Trains a sweep in {job.counted}. Submit it in this folder, which all nodes have to see:
# sbatch THIS-FILE, with --time, --partition and what else the cluster asks for in front of it.
# What stopped goes on when it is submitted again, as a whole or as some of the slices, as in
# sbatch --array=3,7 THIS-FILE
#SBATCH --job-name={job.name}
#SBATCH --array=1-{job.slices}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={job.cpus}
{gpus}#SBATCH --requeue
#SBATCH --signal=B:TERM@{_GRACE}
export NPROC={job.cpus} # threads of XLA
# In the place of this shell, so that it gets the signals.
exec {job.command("$SLURM_ARRAY_TASK_ID")}
"""


def kubernetes(job: Job) -> str:
    """Return the manifest of an indexed Job, for `kubectl apply`; ? marks values to fill in."""
    gpus = f"\n            limits: {{nvidia.com/gpu: {job.gpus}}}" if job.gpus else ""
    command = job.command("$((JOB_COMPLETION_INDEX + 1))")
    return f"""\
# Trains a sweep in {job.counted}. Fill in each ?: the claim of a volume that all pods may
# write to (ReadWriteMany) and that holds the files named below, and an image in which dbtool was
# installed with pip install '{job.wheel}'. Then: kubectl apply -f THIS-FILE
# What failed for good goes on when the Job is deleted and applied again. (Kubernetes 1.29 or newer)
apiVersion: batch/v1
kind: Job
metadata:
  name: {job.name}
spec:
  completionMode: Indexed
  completions: {job.slices}
  parallelism: {job.slices}
  backoffLimitPerIndex: 6
  podReplacementPolicy: Failed # two pods of a slice would be in each other's way
  podFailurePolicy:
    rules:
      - action: Ignore # preempted, or its node was drained
        onPodConditions: [{{type: DisruptionTarget, status: "True"}}]
      - action: FailJob # the command's words are wrong
        onExitCodes: {{containerName: dbtool, operator: In, values: [2]}}
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: {_GRACE}
      volumes:
        - name: shared
          persistentVolumeClaim: {{claimName: "?"}}
      containers:
        - name: dbtool
          image: "?"
          workingDir: /shared
          volumeMounts: [{{name: shared, mountPath: /shared}}]
          resources:
            requests: {{cpu: {job.cpus}}}{gpus}
          env: [{{name: NPROC, value: "{job.cpus}"}}]
          command: [/bin/sh, -c]
          args:
            - |
              {_indented(f"exec {command}", 14)}
"""


def skypilot(job: Job) -> str:
    """Return a task for `sky jobs launch --num-jobs`; ? marks values to fill in."""
    gpus = f'\n  accelerators: "?:{job.gpus}"' if job.gpus else ""
    number = "$((SKYPILOT_JOB_RANK + 1))"
    out = f"/runs/slice-{number}-of-{job.slices}"
    return f"""\
# Trains a sweep in {job.counted}. Fill in each ?: a bucket that keeps what is trained, as in
# s3://my-bucket, and what pip installs dbtool from, as in {job.wheel}. Then, in the folder
# that holds the files named below: sky jobs launch --num-jobs {job.slices} THIS-FILE
# A bucket has no locks, so that each slice writes a release folder of its own. Once they are
# copied from the bucket, `dbtool ingest FOLDER-OF-THEM --db DIR` makes one of them.
name: {job.name}
resources:
  cpus: {job.cpus}+{gpus}
  use_spot: true
workdir: .
file_mounts:
  /runs:
    source: "?"
    mode: MOUNT_CACHED
setup: pip install "?"
run: |
  # Of the checkpoint of a machine that was taken away the bucket may have a part.
  rm -rf "{out}/{SWEEP_WORK}"
  {_indented(job.command(number, f'"{out}"'), 2)}
"""


def _indented(text: str, spaces: int) -> str:
    """Indent every line of a YAML block but the first."""
    return text.replace("\n", "\n" + " " * spaces)


FORMATS = {"slurm": slurm, "kubernetes": kubernetes, "skypilot": skypilot}
"""How a job is written, by the name of what runs it."""

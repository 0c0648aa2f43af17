"""Archives in the published format with made-up numbers of any amount, whose answers are known.

plan_study(workload, batch_size) and published_plans(share) say what is in a study; write_archive
writes studies as .tar.bz2, .tar.gz, .tar or a folder, and returns the answers that were planted.
"""

from .plan import StudyPlan, plan_study, published_plans
from .study import Truth
from .writer import write_archive

__all__ = ["StudyPlan", "Truth", "plan_study", "published_plans", "write_archive"]

"""Numbers from outcomes: pass@k, similarities, sizes, intervals, paired tests, agreement. Pure functions.

Sizes of programs stand in modules of their own: ``complexity``, ``tokens``, ``code_statistics``.
"""

from caretbench.metrics.agreement import agreement_rate, cohen_kappa, krippendorff_alpha, quadratic_kappa
from caretbench.metrics.binning import bin_of, bin_title, quantile_bounds
from caretbench.metrics.correlation import Correlation, pearson, spearman
from caretbench.metrics.intervals import (
    Interval,
    bootstrap_mean,
    mean_interval,
    parametric_bootstrap,
    plus_minus,
    wilson,
)
from caretbench.metrics.paired import Comparison, compare, holm, mcnemar_exact, sign_flip_p_value, with_holm
from caretbench.metrics.passk import pass_at_k
from caretbench.metrics.similarity import (
    PaperSimilarity,
    Similarity,
    count_cosine,
    first_line,
    indel_similarity,
    levenshtein_similarity,
    paper_line0,
    paper_similarities,
    similarities,
)
from caretbench.metrics.skill import net_of_floor, skill

__all__ = [
    "Comparison",
    "Correlation",
    "Interval",
    "PaperSimilarity",
    "Similarity",
    "agreement_rate",
    "bin_of",
    "bin_title",
    "bootstrap_mean",
    "cohen_kappa",
    "compare",
    "count_cosine",
    "first_line",
    "holm",
    "indel_similarity",
    "krippendorff_alpha",
    "levenshtein_similarity",
    "mcnemar_exact",
    "mean_interval",
    "net_of_floor",
    "paper_line0",
    "paper_similarities",
    "parametric_bootstrap",
    "pass_at_k",
    "pearson",
    "plus_minus",
    "quadratic_kappa",
    "quantile_bounds",
    "sign_flip_p_value",
    "similarities",
    "skill",
    "spearman",
    "wilson",
    "with_holm",
]

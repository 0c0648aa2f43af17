"""Steps to result that Zhang et al. 2024 (arXiv 2410.21676) publish, and what they fit to them."""

# By millions of parameters, at batch sizes from 64; of the two largest models as their notebook
# prints them. Their law of the batch size where steps exceed linear scaling from 256 by a fifth is
# 93.2 N^0.468.
STEPS = {
    85: [46000, 23000, 13282, 7000, 3840, 2528, 1917, 1600, 1600],
    151: [96000, 49000, 24000, 12000, 7128, 4350, 2940, 2400, 2300],
    302: [196000, 90000, 46000, 23400, 13300, 7224, 4980, 3400, 2879],
    604: [311000, 166000, 81000, 37440, 21320, 11400, 7199, 4700, 3800],
    1200: [643000, 331000, 176000, 94000, 46500, 25000, 15360, 8900, 6500],
}
SIZES = [64 * 2**index for index in range(9)]
OVERHEADS = {85: 745.3, 151: 955.2, 302: 1393.7}

"""Open Images v4: JPEG files and the CSV files of their verified labels."""

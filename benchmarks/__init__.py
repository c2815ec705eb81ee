"""What is measured, as ratios within one run: shared machines make absolute figures a guide at best."""

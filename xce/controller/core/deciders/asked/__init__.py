"""What users ask, one room per kind of asking. Their mistakes are Rejections."""

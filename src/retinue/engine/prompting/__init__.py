"""What a model is told beside the conversation, and how a definition calls its model."""

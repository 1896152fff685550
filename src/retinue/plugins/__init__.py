"""Operations that are declared once and have three faces: tool, HTTP endpoint and command."""

"""Parts that several views are drawn with. None of them knows a view."""

"""What only our own pages in Desk call. No part of the documented API: it changes with the pages."""

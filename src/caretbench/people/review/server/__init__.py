"""Server of a review: pages for reviewers, the adjudicator and the owner, and the interface of the page's script."""

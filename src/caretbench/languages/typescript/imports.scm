; inherits: javascript
(import_statement (import_require_clause (identifier) @name source: (_) @module))

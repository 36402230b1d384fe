; Required files bind no name: all that they define is visible.
((call !receiver method: (identifier) @_called arguments: (argument_list . (string (string_content) @module) .))
  (#any-of? @_called "require" "require_relative"))

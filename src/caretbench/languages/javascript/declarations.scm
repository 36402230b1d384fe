; inherits: ecmascript
(field_definition property: (_) @name) @declaration

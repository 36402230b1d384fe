; Syntax of newer versions of C#, by the version that brought it: older SDKs do not compile it.

(implicit_object_creation_expression) @csharp9
(relational_pattern) @csharp9
(and_pattern) @csharp9
(or_pattern) @csharp9
(negated_pattern) @csharp9
(global_statement) @csharp9
(record_declaration) @csharp9
(with_expression) @csharp9
(function_pointer_type) @csharp9
(file_scoped_namespace_declaration) @csharp10
(list_pattern) @csharp11
(raw_string_literal) @csharp11
(collection_expression) @csharp12

/// Limits of a template and of one rendering. Beyond them the template is an error.
public struct ChatTemplateLimits: Sendable {
    /// The size of the source, in Unicode scalars.
    public var source: Int
    /// The nesting of statements and expressions.
    public var nesting: Int
    /// The nesting of evaluation: each call of a macro takes a few levels more than the nesting of its body.
    public var depth: Int
    /// The evaluated steps: about one for each expression, statement, element and eight scalars of text.
    public var steps: Int
    /// The size of the output, in Unicode scalars.
    public var output: Int
    /// The numbers of one `range`.
    public var range: Int

    /// Creates limits.
    public init(
        source: Int = 1 << 20, nesting: Int = 100, depth: Int = 2000, steps: Int = 10_000_000, output: Int = 64 << 20,
        range: Int = 100_000
    ) {
        self.source = source
        self.nesting = nesting
        self.depth = depth
        self.steps = steps
        self.output = output
        self.range = range
    }
}

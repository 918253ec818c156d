import AccelConversion

/// A row of the table of a conversion's options: what the command line takes, the property of `Conversion` that it sets, and the choice
/// by which cache keys and errors for packages know it.
struct ConversionOption: Sendable {
    let option: Option
    /// nil for an option that changes no result.
    let choice: ConversionChoice?
    /// Sets the property. The rows that are on the command line are applied in the order of the table.
    let apply: @Sendable (inout Conversion, Arguments, Option) throws -> Void

    init(
        _ option: Option, _ choice: ConversionChoice?,
        apply: @escaping @Sendable (inout Conversion, Arguments, Option) throws -> Void = { _, _, _ in }
    ) {
        (self.option, self.choice, self.apply) = (option, choice, apply)
    }
}

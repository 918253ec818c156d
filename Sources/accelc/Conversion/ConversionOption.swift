import AccelConversion

/// A row of the table of a conversion's options: what the command line takes, the property of `Conversion` that it sets, and the choice
/// by which cache keys and errors for packages know it.
struct ConversionOption: Sendable {
    typealias Setter = @Sendable (inout Conversion, Arguments, Option) throws -> Void
    let option: Option
    /// nil for an option that changes no result.
    let choice: ConversionChoice?
    /// Sets the property. The rows that are on the command line are applied in the order of the table.
    let set: Setter
}

extension Option {
    /// Returns the row of an option that sets a property of a conversion.
    func setting(
        _ choice: ConversionChoice?, _ set: @escaping ConversionOption.Setter = { _, _, _ in }
    ) -> ConversionOption {
        ConversionOption(option: self, choice: choice, set: set)
    }
}

extension HuggingFaceFormat {
    public static var reading: FormatReading {
        FormatReading(
            schemes: FormatReading.plain + QuantizedSchemes.all.map { .init($0.title, .kept) },
            rejected: QuantizedSchemes.rejected.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }
}

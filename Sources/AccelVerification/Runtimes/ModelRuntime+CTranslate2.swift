import AccelFormats

extension ModelRuntime {
    /// CTranslate2. It multiplies int8 weights with activations that it rounds to int8, a scale each row; asked for float32, it
    /// decodes the weights instead.
    static let ctranslate2 = ModelRuntime(
        name: "ctranslate2", title: "CTranslate2", installation: "pip install ctranslate2",
        formats: [CTranslate2Format.self],
        feed: .wholeInputs, unrounded: .ctranslate2Float32,
        rounding: { source in
            let schemes = Set(try source.weights.map(\.scheme))
            return schemes.contains("int8") ? .ctranslate2Rows : .ctranslate2Float32
        })
}

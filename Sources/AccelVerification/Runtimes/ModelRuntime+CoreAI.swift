import AccelFormats

extension ModelRuntime {
    /// Core AI. Only weights are compressed; it computes in the type that the export was made for.
    static let coreai = ModelRuntime(
        name: "coreai", title: "Core AI", installation: "pip install coreai-core", formats: [CoreAIFormat.self],
        feed: .functions, unrounded: nil,
        rounding: { source in
            (source as? CoreAISource)?.package.computesInFloat16 == false ? .coreaiFloat32 : .coreaiFloat16
        })
}

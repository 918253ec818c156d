import AccelFormats
import AccelTensors

extension ModelRuntime {
    /// llama.cpp. A product rounds its activations to the type that its weights are multiplied in: float16 and bfloat16 weights to
    /// that type, weights in blocks to blocks of int8. Its GELU and SiLU come from tables of float16.
    static let llama = ModelRuntime(
        name: "llama", title: "llama.cpp", installation: "pip install llama-cpp-python", formats: [GGUFFormat.self],
        feed: .wholeInputs, unrounded: nil,
        rounding: { source in
            let types = Set(
                source.files.sources.flatMap(\.tensors).filter { $0.shape.rank > 1 || $0.elementType == .uint8 }
                    .map(\.elementType))
            if types.contains(.uint8) { return .llamaBlocks }
            return types.contains(.bfloat16) ? .llamaBFloat16 : types.contains(.float16) ? .llamaFloat16 : .llamaFloat32
        })
}

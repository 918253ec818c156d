import AccelByteIO

/// mlx-lm (ml-explore/mlx-lm, utils.py), whose folders mlx-swift loads too (ml-explore/mlx-swift-lm). It makes the class that `model_type`
/// names, quantizes the layers that `quantization` and the tensors `.scales` name, and rejects a tensor that is missing, left over, or of
/// another shape.
extension RuntimeContract {
    static let mlxLM = RuntimeContract(
        name: "mlx-lm", summary: "decoders by MLX",
        families: MLXFamily.all.map(\.name).filter { $0 != MLXWhisper.family.name },
        format: MLXExporter.self, parts: [.model],
        findings: { folder in
            missingTokenizer(in: folder, "mlx-swift loads no model without it")
                + (try MLXConfiguration.read(in: folder)["model_type"].string() == "gpt2"
                    ? ["mlx-swift has no class for gpt2: only mlx-lm loads the folder"] : [])
        })
}

import AccelFormats

extension ModelRuntime {
    /// MLX by the models of mlx-lm. Only weights are quantized; it is asked to compute in float32.
    static let mlx = ModelRuntime(
        name: "mlx", title: "MLX", installation: "pip install 'mlx[cpu]' mlx-lm",
        formats: [MLXFormat.self, HuggingFaceFormat.self], feed: .wholeInputs, unrounded: nil,
        rounding: { _ in .mlxFloat32 })
}

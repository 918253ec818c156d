/// Tensors that change the meaning of another tensor: scales and zero points of quantized weights, adapters, masks. No
/// family reads them, so a checkpoint that has one is rejected, with the kind of tensor in the error.
package enum CompanionTensors {
    /// A kind of such tensors, with the names by which it is recognised.
    package struct Kind: Sendable {
        /// The name of the kind in errors, such as "GPTQ or AWQ weights".
        package let name: String
        /// Suffixes of a module's name, such as `.qzeros` in `layers.0.q_proj.qzeros`, or of a weight's name, such as
        /// `_blocks`.
        var endings: [String] = []
        /// Beginnings of a name component after the module's name, such as `lora_` in `q_proj.lora_A.weight`.
        var parts: [String] = []
    }

    /// All kinds. The first kind that matches a name counts, so more specific kinds come first.
    package static let kinds: [Kind] = [
        Kind(
            name: "weights with an adapter beside them (LoRA and its kin)",
            parts: [
                "lora_", "base_layer", "modules_to_save", "original_module", "svdquant_lora", "ia3_l", "hada_w",
                "lokr_w",
                "oft_", "boft_", "vera_lambda", "dora_scale",
            ]),
        Kind(
            name: "GPTQ or AWQ weights", endings: [".qweight", ".qzeros", ".g_idx", ".weight_g_idx"]),
        Kind(
            name: "bitsandbytes weights",
            endings: [".SCB", ".weight_format", ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"],
            parts: ["quant_state"]),
        Kind(
            name: "compressed-tensors weights",
            endings: [
                ".weight_packed", ".weight_shape", ".weight_zero_point", ".weight_global_scale", ".input_global_scale",
            ]),
        Kind(
            name: "torchao weights", endings: ["._weight_qdata", "._weight_scale", "._weight_zero_point"]),
        Kind(
            name: "quanto weights", endings: [".weight._data", ".weight._scale", "._data", "._scale"]),
        Kind(
            name: "HQQ weights",
            endings: [".W_q", ".zero", ".scale", ".nbits", ".group_size", ".packing", ".view_as_float"]),
        Kind(name: "MXFP4 weights", endings: ["_blocks", "_scales"]),
        Kind(
            name: "weights in groups with scales (MLX, GPTQ, AWQ)", endings: [".scales", ".biases", ".qbiases"]),
        Kind(
            name: "FP8, FP4 or INT8 weights with scales (ModelOpt, compressed-tensors, DeepSeek)",
            endings: [
                "_scale_inv", "_scale_2", "_scale_ub", "_scale", ".scale_weight", ".scale_input", "scaled_fp8",
                ".zero_point",
            ]),
        Kind(
            name: "AQLM or VPTQ weights", endings: [".codes", ".codebooks", ".centroids", ".indices"]),
        Kind(
            name: "weights under a mask or a parametrization (torch.nn.utils.prune, spectral_norm)",
            endings: ["_orig", "_mask", ".weight_u"], parts: ["fake_quant", "activation_post_process"]),
    ]

    /// Returns the kind that a name belongs to, and its module or weight; nil for other names.
    package static func match(_ name: String) -> (kind: Kind, owner: String)? {
        for kind in kinds {
            if let ending = kind.endings.first(where: name.hasSuffix) {
                return (kind, String(name.dropLast(ending.count)))
            }
            for part in kind.parts {
                if name.hasPrefix(part) { return (kind, "") }
                if let found = name.firstRange(of: ".\(part)") { return (kind, String(name[..<found.lowerBound])) }
            }
        }
        return nil
    }

    /// Returns the names of all tensors of these kinds that a weight could have.
    package static func names(for weight: String) -> [(kind: Kind, name: String)] {
        let module = weight.hasSuffix(".weight") ? String(weight.dropLast(".weight".count)) : weight
        return kinds.flatMap { kind in
            kind.endings.map { ending in (kind, ending.hasPrefix("_") ? weight + ending : module + ending) }
                + kind.parts.map { (kind, "\(module).\($0)x.weight") }
        }
    }
}

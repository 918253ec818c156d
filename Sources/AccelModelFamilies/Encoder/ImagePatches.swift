import AccelByteIO
import AccelPrograms
import AccelTensors

/// How an encoder of images cuts them: no overlap, and what is left over at the right and at the bottom is dropped.
struct ImagePatches {
    let channels: Int
    let height: Int
    let width: Int
    let patchHeight: Int
    let patchWidth: Int
    /// How pixels are made of images; nil where that is not known.
    let normalisation: Role.PixelNormalisation?

    var rows: Int { height / patchHeight }
    var columns: Int { width / patchWidth }
    var count: Int { rows * columns }
    /// Of `pixel_values`.
    func type(batch: Dimension) -> TensorType {
        TensorType(.float32, [batch, .fixed(channels), .fixed(height), .fixed(width)])
    }

    /// - Parameters:
    ///   - config: the configuration of the encoder.
    ///   - patch: the size of a patch, where it does not say.
    ///   - usual: how pixels are normalised, where the checkpoint does not say.
    init(
        _ config: JSONField, of checkpoint: Checkpoint, patch: Int, normalisation usual: Role.PixelNormalisation
    ) throws {
        channels = try config["num_channels"].int(in: 1...1024, default: 3)
        (height, width) = try Self.extents(config["image_size"], default: 224)
        (patchHeight, patchWidth) = try Self.extents(config["patch_size"], default: patch)
        guard patchHeight <= height, patchWidth <= width else {
            throw config["patch_size"].error("a patch is larger than the image of \(height) x \(width)")
        }
        normalisation = try .read(of: checkpoint, channels: channels, default: usual)
    }

    /// One number for both, or height and width.
    private static func extents(_ field: JSONField, default other: Int) throws -> (Int, Int) {
        let range = 1...1 << 14
        guard case .array? = field.value else {
            let extent = try field.int(in: range, default: other)
            return (extent, extent)
        }
        let extents = try field.array().map { try $0.int(in: range) }
        guard extents.count == 2 else { throw field.error("expected 1 or 2 integers, found \(extents.count)") }
        return (extents[0], extents[1])
    }

    /// Each patch through the kernel `NAME.weight` [outputs, channels, patch height, patch width], as one linear layer.
    /// - Parameter image: F32[batch, channels, height, width]
    /// - Returns: F32[batch, patches, outputs]
    func embedded(
        _ image: Value, by name: String, to outputs: Int, isBiased: Bool, batch: Dimension = "batch",
        in layers: inout LayerBuilder
    ) throws -> Value {
        let stored = try layers.names.take("\(name).weight", [outputs, channels, patchHeight, patchWidth])
        let inputs = channels * patchHeight * patchWidth
        let rows = layers.names.reshaped(stored, [outputs, inputs])
        var parameters = [layers.builder.constant(rows, isWeight: true)]
        if isBiased { parameters.append(try layers.weight("\(name).bias", [outputs])) }
        return try layers.in(name) { layers in
            let flat = try flattened(image, inputs: inputs, batch: batch, in: &layers)
            return try layers.builder.apply(Linear(), [flat] + parameters)
        }
    }

    /// F32[batch, patches, inputs]
    private func flattened(
        _ image: Value, inputs: Int, batch: Dimension, in layers: inout LayerBuilder
    ) throws -> Value {
        let (tall, wide) = (Dimension(rows * patchHeight), Dimension(columns * patchWidth))
        var x = image
        if tall != .fixed(height) || wide != .fixed(width) {
            x = try layers.apply(Slice(begin: [0, 0, 0, 0], sizes: [batch, .fixed(channels), tall, wide]), x)
        }
        // In two turns, so that no value has more than five axes: some runtimes have no more.
        let images = batch * .fixed(channels)
        let cut: [Dimension] = [images, .fixed(rows), .fixed(patchHeight), .fixed(columns), .fixed(patchWidth)]
        x = try layers.apply(Transpose([0, 1, 3, 2, 4]), try layers.apply(Reshape(to: cut), x))
        let pixels = Dimension(patchHeight * patchWidth)
        x = try layers.apply(Reshape(to: [batch, .fixed(channels), .fixed(count), pixels]), x)
        x = try layers.apply(Transpose([0, 2, 1, 3]), x)
        return try layers.apply(Reshape(to: [batch, .fixed(count), .fixed(inputs)]), x)
    }
}

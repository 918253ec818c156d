import AccelByteIO
import AccelPrograms
import AccelTensors

/// The division of images into patches: without overlap; remaining pixels at the right and at the bottom are dropped.
struct ImagePatches {
    let channels: Int
    let height: Int
    let width: Int
    let patchHeight: Int
    let patchWidth: Int
    /// The normalisation of pixels; nil if it is not known.
    let normalisation: Role.PixelNormalisation?

    var rows: Int { height / patchHeight }
    var columns: Int { width / patchWidth }
    var count: Int { rows * columns }
    /// Returns the type of `pixel_values`.
    func type(batch: Dimension) -> TensorType {
        TensorType(.float32, [batch, .fixed(channels), .fixed(height), .fixed(width)])
    }

    /// Reads sizes and normalisation.
    /// - Parameters:
    ///   - config: the configuration of the encoder.
    ///   - patch: the default size of a patch.
    ///   - usual: the default normalisation.
    init(
        _ config: JSONField, of checkpoint: Checkpoint, patch: Int, normalisation usual: Role.PixelNormalisation
    ) throws {
        channels = try config["num_channels"].int(in: 1...1024, default: 3)
        (height, width) = try Self.sizes(config["image_size"], default: 224)
        (patchHeight, patchWidth) = try Self.sizes(config["patch_size"], default: patch)
        guard patchHeight <= height, patchWidth <= width else {
            throw config["patch_size"].error("a patch is larger than the image of \(height) x \(width)")
        }
        normalisation = try .read(of: checkpoint, channels: channels, default: usual)
    }

    /// Reads height and width, or one number for both.
    private static func sizes(_ field: JSONField, default other: Int) throws -> (Int, Int) {
        let range = 1...1 << 14
        guard case .array? = field.value else {
            let size = try field.int(in: range, default: other)
            return (size, size)
        }
        let sizes = try field.array().map { try $0.int(in: range) }
        guard sizes.count == 2 else { throw field.error("expected 1 or 2 integers, found \(sizes.count)") }
        return (sizes[0], sizes[1])
    }

    /// Applies the kernel `NAME.weight` [outputs, channels, patch height, patch width] to each patch, as one linear
    /// layer.
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

    /// Returns the pixels of each patch in a row, F32[batch, patches, inputs].
    private func flattened(
        _ image: Value, inputs: Int, batch: Dimension, in layers: inout LayerBuilder
    ) throws -> Value {
        let (tall, wide) = (Dimension(rows * patchHeight), Dimension(columns * patchWidth))
        var x = image
        if tall != .fixed(height) || wide != .fixed(width) {
            x = try layers.apply(Slice(begin: [0, 0, 0, 0], sizes: [batch, .fixed(channels), tall, wide]), x)
        }
        // In two steps, so that no value has more than five axes, which is the limit of some runtimes.
        let images = batch * .fixed(channels)
        let cut: [Dimension] = [images, .fixed(rows), .fixed(patchHeight), .fixed(columns), .fixed(patchWidth)]
        x = try layers.apply(Transpose([0, 1, 3, 2, 4]), try layers.apply(Reshape(to: cut), x))
        let pixels = Dimension(patchHeight * patchWidth)
        x = try layers.apply(Reshape(to: [batch, .fixed(channels), .fixed(count), pixels]), x)
        x = try layers.apply(Transpose([0, 2, 1, 3]), x)
        return try layers.apply(Reshape(to: [batch, .fixed(count), .fixed(inputs)]), x)
    }
}

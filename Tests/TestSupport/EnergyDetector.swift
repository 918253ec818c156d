import AccelByteIO
import AccelTensors

/// A model of Silero VAD's shape that takes every sound for speech, and silence for none: its few weights that are not zero lead the size of some
/// samples to the probability.
public enum EnergyDetector {
    /// Writes the model into a folder.
    /// - Parameter isDeaf: it takes every sound for silence.
    public static func write(to folder: String, isDeaf: Bool = false) throws {
        var tensors: [StoredTensor] = []
        func add(_ name: String, _ shape: Shape, _ values: [Int: Float] = [:]) {
            var floats = [Float](repeating: 0, count: shape.count)
            for (index, value) in values { floats[index] = value }
            tensors.append(StoredTensor(name: name, floats: floats, shape: shape))
        }
        // The real part of the first frequency is one sample of each window; the size of it goes through all convolutions.
        add("stft_conv.weight", [258, 1, 256], [128: 1])
        add("conv1.weight", [128, 129, 3], [1: 1])
        add("conv2.weight", [64, 128, 3], [0: 1, 1: 1, 2: 1])
        add("conv3.weight", [64, 64, 3], [0: 1, 1: 1, 2: 1])
        add("conv4.weight", [128, 64, 3], [1: 1])
        for (index, count) in [128, 64, 64, 128].enumerated() { add("conv\(index + 1).bias", [count]) }
        // Gates i, f, g, o of 128 cells: the first cell forgets at once, and shows the hyperbolic tangent of the size.
        add("lstm_cell.weight_ih", [512, 128], [256 * 128: 100])
        add("lstm_cell.weight_hh", [512, 128])
        add("lstm_cell.bias_ih", [512], [0: 20, 128: -20, 384: 20])
        add("lstm_cell.bias_hh", [512])
        add("final_conv.weight", [1, 128, 1], [0: isDeaf ? 0 : 40])
        add("final_conv.bias", [1], [0: -10])
        try Files.makeFolder(folder)
        try SafetensorsWriter.write(tensors, to: "\(folder)/model.safetensors", as: .part)
        try AtomicFile.write(#"{"model_type": "silero_vad"}"#, to: "\(folder)/config.json", as: .internal)
    }
}

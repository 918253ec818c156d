/// FluidAudio (FluidInference/FluidAudio, ModelNames.swift and VadManager.swift of 0.15.6), as far as accelc has families of its models:
/// the detector of speech. `VadManager(modelDirectory:)` looks for one compiled model below the folder `Models`, finds features by their
/// names, and reads outputs as float32 without looking at their types.
extension RuntimeContract {
    private static let detectorFolder = "Models/silero-vad/"
    private static let detectorName = "silero-vad-unified-256ms-v6.2.1"

    static let fluidAudio = RuntimeContract(
        name: "fluidaudio", summary: "Silero VAD by Core ML", families: ["silero_vad"],
        gap: "accelc does not build FluidAudio's other models", format: CoreMLExporter.self,
        parts: [
            // Powers of quiet sounds are below the smallest number of float16.
            Part(
                name: "unified_256ms", path: detectorFolder + detectorName,
                options: coreML(.float32, outputs: .float32))
        ],
        lastCommand: { compilation(of: [detectorName], in: $0, detectorFolder) }, findings: { _ in [] })
}

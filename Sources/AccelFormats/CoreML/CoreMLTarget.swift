/// The oldest system that has to load a Core ML package.
public enum CoreMLTarget: String, CaseIterable, Comparable, Sendable {
    case iOS16, iOS17, iOS18, iOS26

    /// `specificationVersion` of the model.
    public var specificationVersion: Int { index + 7 }
    /// The operations that its functions may use.
    public var opset: String { "CoreML\(index + 6)" }

    private var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (left: CoreMLTarget, right: CoreMLTarget) -> Bool { left.index < right.index }
}

/// The oldest system that must be able to load a Core ML package.
public enum CoreMLTarget: String, CaseIterable, Comparable, Sendable {
    /// iOS 16 and macOS 13 (specification version 7) and their successors, up to iOS 26 and macOS 26 (version 10).
    case iOS16, iOS17, iOS18, iOS26

    /// The `specificationVersion` of models for this target: 7 for iOS 16.
    public var specificationVersion: Int { index + 7 }
    /// The operation set of functions for this target, e.g. `CoreML8` for iOS 18.
    public var opset: String { "CoreML\(index + 6)" }

    private var index: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    public static func < (left: CoreMLTarget, right: CoreMLTarget) -> Bool { left.index < right.index }
}

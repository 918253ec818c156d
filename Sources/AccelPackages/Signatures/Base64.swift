import Foundation

/// Base64 as RFC 4648 defines it, with padding.
public enum Base64 {
    public static func text(of bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// nil for what is not the one way of writing some bytes: white space, missing padding, bits set beyond the end.
    public static func bytes(of text: String) -> [UInt8]? {
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
        return Array(data)
    }
}

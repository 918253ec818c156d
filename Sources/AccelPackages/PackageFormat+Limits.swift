import AccelByteIO
import AccelTensors

/// Limits of a package, far above real ones, within which arithmetic cannot overflow.
extension PackageFormat {
    static let maximumRank = 8
    static let maximumElements = 1 << 48

    /// Returns whether products of the sizes, zeros ignored, are far from overflow.
    static func fits(_ shape: Shape) -> Bool {
        guard shape.rank <= maximumRank else { return false }
        var product = 1
        for size in shape.dimensions {
            let (next, overflow) = product.multipliedReportingOverflow(by: max(size, 1))
            guard size >= 0, !overflow, next <= maximumElements else { return false }
            product = next
        }
        return true
    }

    /// Returns whether a relative path stays in its folder on every platform: no empty, `.` or `..` components, no
    /// backslash, colon or control characters.
    static func isSafeName(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return name.utf8.count <= 512
            && parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.count <= 255 }
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: ":") }
    }
}

extension JSONField {
    /// Returns a digest of 64 hexadecimal digits.
    func digest() throws -> Digest {
        guard let digest = Digest(hexadecimal: try string()) else {
            throw error("expected a digest of 64 hexadecimal digits, found \"\(try string().prefix(80))\"")
        }
        return digest
    }

    func elementType() throws -> ElementType {
        let name = try string()
        guard let type = ElementType(rawValue: name) else {
            throw error("\"\(name.prefix(80))\" is not an element type")
        }
        return type
    }
}

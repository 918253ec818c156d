import AccelByteIO
import AccelTensors

/// What a package may claim. No real one comes near; arithmetic on what passes does not overflow.
extension PackageFormat {
    static let maximumRank = 8
    static let maximumElements = 1 << 48

    /// Whether arithmetic on the extents, zeros left out, stays far from overflow.
    static func fits(_ shape: Shape) -> Bool {
        guard shape.rank <= maximumRank else { return false }
        var product = 1
        for extent in shape.dimensions {
            let (next, overflow) = product.multipliedReportingOverflow(by: max(extent, 1))
            guard extent >= 0, !overflow, next <= maximumElements else { return false }
            product = next
        }
        return true
    }

    /// A relative path that stays in its folder on every platform: no empty, `.` or `..` parts, no backslash, colon or
    /// control characters.
    static func isSafeName(_ name: String) -> Bool {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return name.utf8.count <= 512
            && parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.count <= 255 }
            && name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: ":") }
    }
}

extension JSONField {
    /// 64 hexadecimal digits.
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

import AccelByteIO
import AccelPlatform

/// Filters that make or change numbers.
enum NumberFilters {
    static let table: [String: Function] = [
        "int": Function("default? base?") { try integer($0) },
        "float": Function("default?") { call in
            if case .undefined(let undefined) = call.subject { throw undefined.failure }
            let number = call.subject.number ?? call.subject.text.flatMap(float)
            return number.map(Value.float) ?? call[0] ?? .float(0)
        },
        "abs": Function { call in
            if case .undefined(let undefined) = call.subject { throw undefined.failure }
            if case .float(let number) = call.subject { return .float(abs(number)) }
            guard let integer = call.subject.integer else {
                throw TemplateFailure.type("bad operand type for abs(): '\(call.subject.typeName)'")
            }
            return try Operators.sign(.integer(integer), isNegative: integer < 0)
        },
        "round": Function("precision? method?") { try rounded($0) },
    ]

    private static func integer(_ call: Call) throws -> Value {
        let standard = call[0] ?? .integer(0)
        switch call.subject {
        case .undefined(let undefined): throw undefined.failure
        case .float(let number): return number.isNaN ? standard : .integer(try Numbers.integer(number))
        case .string(let text), .markup(let text):
            if let number = try integer(text, base: try call.int(1, default: 10)) { return .integer(number) }
            guard let number = float(text), number.isFinite else { return standard }
            return .integer(try Numbers.integer(number))
        default: return call.subject.integer.map(Value.integer) ?? standard
        }
    }

    /// Returns the digits of a number, without underscores between them; nil if it is none.
    private static func digits(_ text: Text) -> String? {
        let stripped = text.stripped(of: \.isPythonSpace)
        for (index, scalar) in stripped.enumerated() where scalar == "_" {
            guard index > 0, index + 1 < stripped.count, Character(stripped[index - 1]).isHexDigit,
                Character(stripped[index + 1]).isHexDigit
            else { return nil }
        }
        return stripped.filter { $0 != "_" }.map { scalar in
            guard !scalar.isASCII, scalar.isPythonDecimal, let digit = scalar.properties.numericValue else {
                return String(scalar)
            }
            return String(Int(digit))
        }.joined()
    }

    private static func integer(_ text: Text, base: Int) throws -> Int? {
        guard base == 0 || (2...36).contains(base), var digits = digits(text) else { return nil }
        let sign = digits.first == "-" || digits.first == "+" ? String(digits.removeFirst()) : ""
        var radix = base
        let prefixes = ["0b": 2, "0o": 8, "0x": 16]
        if let prefixed = prefixes[digits.prefix(2).lowercased()], base == 0 || base == prefixed {
            (radix, digits) = (prefixed, String(digits.dropFirst(2)))
        } else if base == 0 {
            radix = 10
        }
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) }) else { return nil }
        if let number = Int(sign + digits, radix: radix) { return number }
        let isNumber = digits.allSatisfy { Int(String($0), radix: radix) != nil }
        if isNumber { throw TemplateFailure.overflow() }
        return nil
    }

    private static func float(_ text: Text) -> Double? {
        guard let digits = digits(text) else { return nil }
        let lowered = digits.lowercased()
        let unsigned = lowered.hasPrefix("-") || lowered.hasPrefix("+") ? String(lowered.dropFirst()) : lowered
        if ["inf", "infinity"].contains(unsigned) { return lowered.hasPrefix("-") ? -.infinity : .infinity }
        if unsigned == "nan" { return .nan }
        guard unsigned.allSatisfy({ $0.isASCII && ($0.isNumber || ".e+-".contains($0)) }) else { return nil }
        let withZero = unsigned.hasPrefix(".") ? "0" + unsigned : unsigned
        let parts = withZero.split(separator: "e", omittingEmptySubsequences: false)
        guard let mantissa = parts.first, !mantissa.isEmpty, unsigned != "." else { return nil }
        let whole = mantissa.hasSuffix(".") ? mantissa + "0" : mantissa
        let text = ([String(whole)] + parts.dropFirst().map(String.init)).joined(separator: "e")
        guard let number = Double(text) else { return nil }
        return lowered.hasPrefix("-") ? -number : number
    }

    private static func rounded(_ call: Call) throws -> Value {
        let method = try call[1].map { try Call.text($0).string } ?? "common"
        guard ["common", "ceil", "floor"].contains(method) else {
            throw TemplateFailure.value("method must be common, ceil or floor")
        }
        let precision = try call.int(0, default: 0)
        if case .undefined(let undefined) = call.subject { throw undefined.failure }
        guard call.subject.number != nil else {
            throw TemplateFailure.type("type \(call.subject.typeName) doesn't define __round__ method")
        }
        guard method == "common" else {
            let factor = try Numbers.apply(.power, .integer(10), .integer(precision))
            let scaled = try Numbers.apply(.multiply, call.subject, factor)
            let limit = (scaled.number ?? 0).rounded(method == "ceil" ? .up : .down)
            let whole = try scaled.integer ?? Numbers.integer(limit)
            return try Numbers.apply(.divide, .integer(whole), factor)
        }
        if case .float(let number) = call.subject { return .float(round(number, precision)) }
        let integer = call.subject.integer ?? 0
        return .integer(precision >= 0 ? integer : try round(integer, precision))
    }

    /// Rounds the exact value of a float, half to even.
    private static func round(_ number: Double, _ precision: Int) -> Double {
        guard number.isFinite, precision <= 323 else { return number }
        if precision < 0 {
            guard precision > -310 else { return 0 * number }
            let factor = pow(10, Double(-precision))
            return (number / factor).rounded(.toNearestOrEven) * factor
        }
        guard precision <= 100 else { return number }
        return Double(NumberText.fixed(number, digits: precision)) ?? number
    }

    private static func round(_ integer: Int, _ precision: Int) throws -> Int {
        guard precision > -19 else { return 0 }
        let factor = (0..<(-precision)).reduce(1) { product, _ in product * 10 }
        let (quotient, remainder) = integer.quotientAndRemainder(dividingBy: factor)
        let twice = remainder.magnitude * 2
        let isUp = twice > factor.magnitude || (twice == factor.magnitude && quotient % 2 != 0)
        let (result, overflow) = (quotient + (isUp ? integer.signum() : 0)).multipliedReportingOverflow(by: factor)
        guard !overflow else { throw TemplateFailure.overflow() }
        return result
    }
}

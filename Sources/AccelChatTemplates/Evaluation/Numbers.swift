import AccelPlatform

/// Arithmetic of integers of 64 bits and of floats, as Python has it.
enum Numbers {
    /// Applies an operator to two numbers.
    /// - Throws: `TemplateFailure` for a division by zero, and for integers beyond 64 bits.
    static func apply(_ operation: Expression.Arithmetic, _ left: Value, _ right: Value) throws -> Value {
        if let left = left.integer, let right = right.integer { return try integers(operation, left, right) }
        return try floats(operation, left.number ?? 0, right.number ?? 0)
    }

    private static func integers(_ operation: Expression.Arithmetic, _ left: Int, _ right: Int) throws -> Value {
        func checked(_ result: (partialValue: Int, overflow: Bool)) throws -> Value {
            guard !result.overflow else { throw TemplateFailure.overflow() }
            return .integer(result.partialValue)
        }
        switch operation {
        case .add: return try checked(left.addingReportingOverflow(right))
        case .subtract: return try checked(left.subtractingReportingOverflow(right))
        case .multiply: return try checked(left.multipliedReportingOverflow(by: right))
        case .divide:
            guard right != 0 else { throw TemplateFailure.value("division by zero") }
            return .float(Double(left) / Double(right))
        case .floorDivide, .remainder:
            guard right != 0 else { throw TemplateFailure.value("integer division or modulo by zero") }
            guard right != -1 else {
                return operation == .remainder ? .integer(0) : try checked(0.subtractingReportingOverflow(left))
            }
            let (quotient, remainder) = left.quotientAndRemainder(dividingBy: right)
            let isBelow = remainder != 0 && (remainder < 0) != (right < 0)
            return .integer(
                operation == .remainder ? remainder + (isBelow ? right : 0) : quotient - (isBelow ? 1 : 0))
        case .power: return try power(left, right)
        }
    }

    private static func power(_ base: Int, _ exponent: Int) throws -> Value {
        guard exponent >= 0 else {
            guard base != 0 else { throw TemplateFailure.value("0.0 cannot be raised to a negative power") }
            return .float(pow(Double(base), Double(exponent)))
        }
        if base == 0 || base == 1 || exponent == 0 { return .integer(exponent == 0 ? 1 : base) }
        if base == -1 { return .integer(exponent % 2 == 0 ? 1 : -1) }
        guard exponent < 64 else { throw TemplateFailure.overflow() }
        var result = 1
        for _ in 0..<exponent {
            let (product, overflow) = result.multipliedReportingOverflow(by: base)
            guard !overflow else { throw TemplateFailure.overflow() }
            result = product
        }
        return .integer(result)
    }

    private static func floats(_ operation: Expression.Arithmetic, _ left: Double, _ right: Double) throws -> Value {
        switch operation {
        case .add: return .float(left + right)
        case .subtract: return .float(left - right)
        case .multiply: return .float(left * right)
        case .divide:
            guard right != 0 else { throw TemplateFailure.value("float division by zero") }
            return .float(left / right)
        case .floorDivide:
            guard right != 0 else { throw TemplateFailure.value("float floor division by zero") }
            return .float(floorDivision(left, right).quotient)
        case .remainder:
            guard right != 0 else { throw TemplateFailure.value("float modulo") }
            return .float(floorDivision(left, right).remainder)
        case .power:
            if left == 0, right < 0 { throw TemplateFailure.value("0.0 cannot be raised to a negative power") }
            if left < 0, left.isFinite, right.isFinite, right != right.rounded() {
                throw TemplateFailure.value("complex numbers are not supported")
            }
            let result = pow(left, right)
            if result.isInfinite, left.isFinite, right.isFinite {
                throw TemplateFailure.overflow("(34, 'Numerical result out of range')")
            }
            return .float(result)
        }
    }

    /// The remainder has the sign of the divisor.
    private static func floorDivision(_ left: Double, _ right: Double) -> (quotient: Double, remainder: Double) {
        var remainder = fmod(left, right)
        var quotient = (left - remainder) / right
        if remainder == 0 {
            remainder = Double(signOf: right, magnitudeOf: 0)
        } else if (remainder < 0) != (right < 0) {
            remainder += right
            quotient -= 1
        }
        guard quotient != 0 else { return (Double(signOf: left / right, magnitudeOf: 0), remainder) }
        let whole = quotient.rounded(.down)
        return (quotient - whole > 0.5 ? whole + 1 : whole, remainder)
    }

    /// Returns the integer part of a number.
    /// - Throws: `TemplateFailure` if there is none.
    static func integer(_ number: Double) throws -> Int {
        guard !number.isNaN else { throw TemplateFailure.value("cannot convert float NaN to integer") }
        guard !number.isInfinite else { throw TemplateFailure.overflow("cannot convert float infinity to integer") }
        guard let integer = Int(exactly: number.rounded(.towardZero)) else { throw TemplateFailure.overflow() }
        return integer
    }
}

import type {CaseArrays, GoldenCase} from '../cases.js'
import type {Call} from '../check.js'

/**
 * What cases of a method are checked for beside output and denominator.
 *
 * @throws Error when this library's result is not the peer's
 */
export type MethodCheck = (golden: GoldenCase, arrays: CaseArrays, call: Call) => void

import type {CaseArrays, GoldenCase} from '../cases.js'
import type {Request} from '../check.js'

/** Cases of one method, told by the manifest's fields: never by name or shape. */
export interface Family {
  name: string
  /** Values of the manifest's `method`, exactly. */
  methods: readonly string[]
  /** What this library is asked for, where the case is an attention call. */
  request?(golden: GoldenCase, arrays: CaseArrays): Request
  /** @throws Error when this library's result is not the peer's */
  check(golden: GoldenCase, arrays: CaseArrays): void
}

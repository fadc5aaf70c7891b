/** Methods of the manifest without a counterpart here yet, and what is missing. */
export interface Unsupported {
  methods: readonly string[]
  /** Estimator that would support them; its arrival makes a test fail until this entry goes. */
  estimator?: string
  reason: string
}

export const UNSUPPORTED: readonly Unsupported[] = []

import {readFileSync} from 'node:fs'

/** The estimator that docs/your-estimator.md begins with. */
export function documentedEstimator(): string {
  const page = readFileSync(new URL('../../docs/your-estimator.md', import.meta.url), 'utf8')
  return /^```js\n([\s\S]*?)^```$/m.exec(page)![1]!
}

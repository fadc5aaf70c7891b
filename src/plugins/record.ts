/** A plug-in as plans and manifests keep it. */
import {createHash} from 'node:crypto'
import {z} from 'zod'

const sha256 = z.string().describe('SHA-256 of its bytes, in hex.')

export const pluginRecord = z.object({
  path: z.string().describe('Absolute path of the module.'),
  sha256,
  imports: z
    .array(z.object({path: z.string().describe('Path from the folder of the module.'), sha256}))
    .describe(
      'Files that it imports by relative paths, directly or not, by path; without packages and files that it reads in other ways.',
    ),
  methods: z.array(z.string()).describe('Names of its estimators.'),
})
export type PluginRecord = z.infer<typeof pluginRecord>

/** Digest of the plug-in that a cell's estimator comes from; `undefined`: it is built in. */
export function pluginOf(cell: object): string | undefined {
  return (cell as {plugin?: string}).plugin
}

/** Plug-ins of a plan; absent where all its estimators are built in. */
export const pluginRecords = z
  .array(pluginRecord)
  .min(1)
  .optional()
  .describe('Plug-ins of the estimators of the plan; absent: all are built in.')

/**
 * Identifies the version of a plug-in, 64 hexadecimal digits: the SHA-256 of its module or, if it imports other
 * files, the SHA-256 of the lines `<sha256>  <path>` of all of them, the module first with the path `.`.
 */
export function pluginDigest({sha256, imports}: Pick<PluginRecord, 'sha256' | 'imports'>): string {
  if (imports.length === 0) return sha256
  const lines = [{path: '.', sha256}, ...imports].map(file => `${file.sha256}  ${file.path}\n`)
  return createHash('sha256').update(lines.join('')).digest('hex')
}

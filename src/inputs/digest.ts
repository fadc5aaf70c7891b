import {
  digestOf,
  type FileSpec,
  type InputFiles,
  layoutIn,
  textsOf,
  withInput,
} from './input-files.js'
import {DEFAULT_LAYOUT, type Layout} from './layout.js'
import {readLayout} from './metadata.js'
import type {InputSpec} from './spec.js'

/**
 * Pins the files of an input to their present content, so that a run is never resumed, nor a record
 * mistaken for current, after the data changed. A generator needs no pin: its seed is in the plan.
 *
 * @param layer - any that will be read; `undefined`: the arrays of no layer
 * @returns the same input with `digest`, the SHA-256 of all files' bytes in order, in hex; and with the layout that it is
 *   read in, unless that is the ordinary one and the file says nothing else
 * @throws what {@link withInput} throws, before any file is read as a whole
 */
export async function pinInput(spec: InputSpec, layer?: number): Promise<InputSpec> {
  if (spec.kind !== 'file') return spec
  return withInput(spec, layer, async files => {
    const {layout: _, ...rest} = spec
    const layout = pinnedLayout(files, spec)
    return {...rest, ...(layout && {layout}), digest: await digestOf(files)}
  })
}

function pinnedLayout(files: InputFiles, spec: FileSpec): Layout | undefined {
  const layout = layoutIn(files, spec, undefined)
  if (layout !== DEFAULT_LAYOUT) return layout
  const {layout: said = DEFAULT_LAYOUT} = textsOf(files, undefined)
  return spec.layout === undefined || readLayout(said) === DEFAULT_LAYOUT ? undefined : layout
}

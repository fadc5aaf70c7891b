import {expected} from '../errors.js'
import {filesText} from './arrangement.js'
import {
  digestOf,
  type FileSpec,
  filesOf,
  type InputFiles,
  layoutIn,
  textsOf,
  withInput,
} from './input-files.js'
import {type InputPart, partsOf} from './input-parts.js'
import type {LayerChoice} from './layers.js'
import {DEFAULT_LAYOUT, type Layout} from './layout.js'
import {readLayout} from './metadata.js'
import type {InputSpec, LayerFiles} from './spec.js'

/** What a plan says of its input once its files are known. */
export interface PinnedInput {
  input: InputSpec
  /** Absent: the arrays belong to no layer. */
  layers?: number[]
  /** Where layers lie in several files: those of each. */
  layer_files?: LayerFiles[]
}

/**
 * The input of a plan with its layers known and its files pinned, see {@link pinInput}.
 *
 * @param asked - layers that were asked for. Default: all that there are
 */
export async function pinnedInput(spec: InputSpec, asked?: LayerChoice): Promise<PinnedInput> {
  const parts = await partsOf(spec, asked)
  const layers = parts.flatMap(({layer}) => layer ?? [])
  const [first] = parts as [InputPart, ...InputPart[]]
  if (first.input === spec) {
    return {input: await pinInput(spec, layers[0]), ...(layers.length > 0 && {layers})}
  }
  const layer_files: LayerFiles[] = []
  for (const {input, layer} of parts) {
    const pinned = await pinInput(input, layer)
    if (pinned.kind !== 'file') continue
    const {paths, layout, digest} = pinned
    layer_files.push({layer: layer!, paths, ...(layout && {layout}), ...(digest && {digest})})
  }
  return {input: spec, layers, layer_files}
}

/**
 * Pins the files of one part of an input to their present content, so that a run is never resumed, nor a record
 * mistaken for current, after the data changed. A generator needs no pin: its seed is in the plan.
 *
 * @param layer - any that will be read; `undefined`: the arrays of no layer
 * @returns the same input with `digest`, the SHA-256 of all files' bytes in order, in hex; and with the layout that it is
 *   read in, unless that is the ordinary one and the file says nothing else
 */
export function pinInput(spec: InputSpec, layer?: number): Promise<InputSpec> {
  if (spec.kind !== 'file') return Promise.resolve(spec)
  return withInput(spec, layer, async files => {
    const {layout: _, ...rest} = spec
    const layout = commonLayout(files, spec)
    return {...rest, ...(layout && {layout}), digest: await digestOf(files)}
  })
}

/** @throws {BAD_OPTION} where files that are read together have different layouts */
function commonLayout(files: InputFiles, spec: FileSpec): Layout | undefined {
  const layouts = filesOf(files, spec).map(one => pinnedLayout(one.files, one.spec))
  const [first, ...others] = layouts
  if (others.every(layout => layout === first)) return first
  const where = `${filesText(spec.paths)}, metadata layout`
  const what = 'the same in all files of a layer'
  const got = layouts.map(layout => layout ?? DEFAULT_LAYOUT).join(', ')
  throw expected('BAD_OPTION', where, what, got, 'say which with `layout`')
}

function pinnedLayout(files: InputFiles, spec: FileSpec): Layout | undefined {
  const layout = layoutIn(files, spec, undefined)
  if (layout !== DEFAULT_LAYOUT) return layout
  const {layout: said = DEFAULT_LAYOUT} = textsOf(files, undefined)
  return spec.layout === undefined || readLayout(said) === DEFAULT_LAYOUT ? undefined : layout
}

/** The recurrent form run over whole sequences: that of `rfa check`. */
export {
  decodeAll,
  decodeCall as decodeCase,
  decoderFor,
  decoderOfCall as decoderOfCase,
  recurrentOptions,
  token,
} from '../../src/check/calls/decode.js'

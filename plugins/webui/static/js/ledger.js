// The ledger of injections and the why-page: ids that open to their evidence, figures that stay true.
import { ready } from "./dom.js";
import { fresh } from "./fresh.js";
import { follow } from "./memorylive.js";
import "./opens.js";
import "./parts.js";

follow({ again: fresh });
ready();

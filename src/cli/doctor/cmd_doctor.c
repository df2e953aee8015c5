#include <jansson.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor/diagnosis.h"
#include "cli/output.h"
#include "cli/session.h"

const char cmd_doctor_detail[] = "One line for each finding, worst first: error, warning or note, "
                                 "what it is about, what was seen, what to turn.\n"
                                 "What grows is judged from the last minutes, which the daemons "
                                 "remember. Exit code 1: there is an error or a "
                                 "warning.";

static void print_json(const struct view *v, const struct findings *found)
{
    json_t *list = json_array();
    for (int i = 0; i < found->count; i++) {
        const struct finding *f = &found->list[i];
        json_array_append_new(list, json_pack("{s:s,s:s,s:o,s:o,s:o}", "severity",
                                              finding_severity_text(f->severity), "code", f->code,
                                              "about", output_text(f->about), "text",
                                              output_text(f->text), "turn", output_text(f->fix)));
    }
    output_json(json_pack("{s:o,s:i,s:i,s:i}", "findings", list, "ingresses",
                          view_answered(v, "ax-ingress"), "dispatchers",
                          view_answered(v, "ax-dispatch"), "pools", v->pool_count));
}

static void print_text(const struct view *v, const struct findings *found)
{
    for (int i = 0; i < found->count; i++) {
        const struct finding *f = &found->list[i];
        output_print("%-8s %s: %s → %s\n", finding_severity_text(f->severity), f->about, f->text,
                     f->fix);
    }
    if (found->count == 0) {
        output_print("nothing found: ax-ingress %d, ax-dispatch %d, pools %d\n",
                     view_answered(v, "ax-ingress"), view_answered(v, "ax-dispatch"),
                     v->pool_count);
    }
}

static int run(natsConnection *nc, void *arg)
{
    const bool *json = arg;
    struct view view;
    struct findings found = {0};
    struct problem p = {0};
    int code;
    if (view_read(nc, &view, &p) != AX_OK) {
        code = say_problem(&p);
    } else {
        diagnosis_make(&view, &found);
        if (*json)
            print_json(&view, &found);
        else
            print_text(&view, &found);
        code = found.count > 0 && found.list[0].severity > SEVERITY_NOTE ? CLI_FAILED : CLI_OK;
    }
    findings_free(&found);
    view_free(&view);
    return code;
}

int cmd_doctor(struct cli *c)
{
    bool json = false;
    const struct flag flags[] = {{"json", FLAG_BOOL, &json, 0, 0, NULL, "print one line of JSON"}};
    int code = args_parse(c, flags, sizeof(flags) / sizeof(flags[0]), 0, 0);
    return code >= 0 ? code : session_run(c, run, &json);
}
